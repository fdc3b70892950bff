// Package view turns the records of a run into one value that pictures are made of: lanes for actors, objects, and a
// step for each record. Make is the entry; packages below it write a format each: view/page an HTML page.
//
// The value is made of the fields of records. Sentences are copied and never read: with other sentences the
// value has the same lanes, objects and steps. It never has the data of a Secret.
// Follow makes the value of a log that grows, and tells its readers only what they do not have.
//
// A value is bounded (Options.Steps, Options.Bytes): of a longer run it has the last steps and, as Base, the objects as they were before them. Missing
// says what is not there.
package view
