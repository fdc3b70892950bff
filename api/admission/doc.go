// Package admission has the plugins that change or refuse what is written: limits, quotas, priority classes, runtime classes and service accounts of pods,
// default classes and growth of claims, protection finalizers, and namespaces that end. They read what is stored through a
// [Reader] and write nothing; what else is to be stored, the quotas with what a write takes, is returned by [Charge].
// Begin at [Change], which runs before validation, then [Create] and [Update], which run after it.
package admission
