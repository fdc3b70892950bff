// Package refusal makes the errors that the rooms of the API server share, in the words of a real server.
package refusal
