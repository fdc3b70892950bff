package crd

import (
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// RulesMessage is the warning that a client gets whose definition has rules in the language
// CEL (x-kubernetes-validations).
const RulesMessage = "x-kubernetes-validations are stored and not evaluated by this server"

// WebhookMessage is the warning for a definition with the conversion strategy Webhook.
const WebhookMessage = "conversion webhooks are not called by this server: objects are converted by their apiVersion only"

// warnings are what a client should know of a definition that it writes: that it asks for
// something which this server does not do.
func warnings(def *apiextensions.CustomResourceDefinition) (list []string) {
	for _, v := range def.Spec.Versions {
		if v.Schema != nil && ruled(v.Schema.OpenAPIV3Schema) {
			list = append(list, RulesMessage)
			break
		}
	}
	if c := def.Spec.Conversion; c != nil && c.Strategy == apiextensions.WebhookConverter {
		list = append(list, WebhookMessage)
	}
	return list
}

// ruled says whether a schema has rules.
func ruled(s *apiextensions.JSONSchemaProps) bool {
	if s == nil {
		return false
	}
	if len(s.XValidations) > 0 || s.Items != nil && ruled(s.Items.Schema) || s.AdditionalProperties != nil && ruled(s.AdditionalProperties.Schema) {
		return true
	}
	for _, property := range s.Properties {
		if ruled(&property) {
			return true
		}
	}
	return false
}
