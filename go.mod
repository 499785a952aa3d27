module github.com/tributary-ai/tributary

go 1.26
