package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/model/offline"
	"github.com/tributary-ai/tributary/tool"
)

// LeadConfig is the part of the file about the lead agent.
type LeadConfig struct {
	// Thinking is whether models that can think do so where the run does not say; nil: yes.
	Thinking *bool `yaml:"thinking"`
	// Approvals say which calls of tools a person is asked about, or are never made. The first that fits counts; a call that none
	// fits is made.
	Approvals []ApprovalConfig `yaml:"approvals"`
	// Without are middlewares that are left out, by the names that agents show lists.
	Without []string `yaml:"without"`
	// Budget is how many tokens an answer may take, with its sub-agents; 0: any number.
	Budget int `yaml:"budget"`
	// Titles says who names threads: "words", the first of the conversation, which is what an empty one means; or "model".
	Titles string `yaml:"titles"`
	// Summary is at how many tokens older messages are shown to models as a summary, and how many of the latest stay; 0: 32,000 and a
	// quarter of it.
	Summary struct {
		Trigger int `yaml:"trigger"`
		Keep    int `yaml:"keep"`
	} `yaml:"summary"`
	// Continuations is how often an agent goes on by itself towards a goal; 0: 8.
	Continuations int `yaml:"continuations"`
	// Unattended is what becomes of such calls in runs in which nobody is there to ask: "deny" or "allow".
	Unattended lead.Verdict `yaml:"unattended"`
}

// ApprovalConfig is a rule: those of tool, group and risk that are given must fit.
type ApprovalConfig struct {
	Tool  string       `yaml:"tool"`
	Group string       `yaml:"group"`
	Risk  string       `yaml:"risk"`
	Do    lead.Verdict `yaml:"do"`
}

// rules reads the rules.
func (c LeadConfig) rules() (lead.Rules, error) {
	r := lead.Rules{Unattended: c.Unattended}
	for i, a := range c.Approvals {
		rule := lead.Rule{Tool: a.Tool, Group: a.Group, Do: a.Do}
		if a.Risk != "" {
			var ok bool
			if rule.Risk, ok = tool.RiskOf(a.Risk); !ok {
				return r, fmt.Errorf("configuration: lead.approvals: rule %d: there is no risk %q; there are reads, writes, executes, spends and leaves", i+1, a.Risk)
			}
		}
		if rule.Do == "" {
			rule.Do = lead.Ask
		}
		r.List = append(r.List, rule)
	}
	if err := r.Validate(); err != nil {
		return r, fmt.Errorf("configuration: lead.approvals: %w", err)
	}
	return r, nil
}

// factory makes the lead agents of a process with these hands.
func (config Config) factory(h hands, log *slog.Logger) (*lead.Factory, error) {
	c := config.Lead
	rules, err := c.rules()
	if err != nil {
		return nil, err
	}
	o := lead.Options{Rules: rules, NoThinking: c.Thinking != nil && !*c.Thinking, Tokens: tokens, Without: c.Without, Budget: c.Budget}
	switch c.Titles {
	case "", "words":
	case "model":
		o.ModelTitles = true
	default:
		return nil, fmt.Errorf("configuration: lead.titles: must be words or model, not %q", c.Titles)
	}
	if c.Summary.Trigger < 0 || c.Summary.Keep < 0 || c.Continuations < 0 {
		return nil, errors.New("configuration: lead: summary and continuations must not be negative")
	}
	o.Summary.Trigger, o.Summary.Keep, o.Continuations = c.Summary.Trigger, c.Summary.Keep, c.Continuations
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	agents := tributary.AgentsIn(config.Data, log)
	o.Agents, o.Keeper = agents, agents
	o.Skills = tributary.SkillsIn(config.Data).Options(config.Files, workspace.Quota{Bytes: config.ThreadBytes, Files: config.ThreadFiles}.Room)
	for _, k := range h {
		if k.off != "" {
			o.Missing = append(o.Missing, lead.Missing{Name: "tools " + k.group, Why: k.off})
		}
	}
	f, err := lead.New(o)
	if err != nil {
		return nil, fmt.Errorf("configuration: lead: %w", err)
	}
	return f, nil
}

// tokens counts by the vocabulary that the offline model has; other models have others, of about the same size.
func tokens(text string) int { return offline.Tokens(text) }
