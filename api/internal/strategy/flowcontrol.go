package strategy

import flowcontrolv1 "k8s.io/api/flowcontrol/v1"

// What priority levels and flow schemas have by default.
const (
	defaultShares     = 30
	defaultQueues     = 64
	defaultHandSize   = 8
	defaultQueueLimit = 50
	defaultPrecedence = 1000
)

// FlowSchemas returns the defaults of flowschemas.
// Upstream: flowcontrol/v1 SetDefaults_FlowSchemaSpec, v1.37.2.
func FlowSchemas() Kind {
	return Of[*flowcontrolv1.FlowSchema]{Default: func(s *flowcontrolv1.FlowSchema) {
		setDefault(&s.Spec.MatchingPrecedence, defaultPrecedence)
	}}.Kind()
}

// PriorityLevels returns the defaults of prioritylevelconfigurations.
// Upstream: flowcontrol/v1 SetDefaults_ExemptPriorityLevelConfiguration, SetDefaults_LimitedPriorityLevelConfiguration and
// SetDefaults_QueuingConfiguration, v1.37.2.
func PriorityLevels() Kind {
	return Of[*flowcontrolv1.PriorityLevelConfiguration]{Default: func(level *flowcontrolv1.PriorityLevelConfiguration) {
		if exempt := level.Spec.Exempt; exempt != nil {
			setDefaultPtr(&exempt.NominalConcurrencyShares, 0)
			setDefaultPtr(&exempt.LendablePercent, 0)
		}
		limited := level.Spec.Limited
		if limited == nil {
			return
		}
		setDefaultPtr(&limited.NominalConcurrencyShares, defaultShares)
		setDefaultPtr(&limited.LendablePercent, 0)
		if queuing := limited.LimitResponse.Queuing; queuing != nil {
			setDefault(&queuing.HandSize, defaultHandSize)
			setDefault(&queuing.Queues, defaultQueues)
			setDefault(&queuing.QueueLengthLimit, defaultQueueLimit)
		}
	}}.Kind()
}
