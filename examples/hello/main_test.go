package main

func Example() {
	main()
	// Output:
	// one
	// two
	// three
}
