/// What the tools shall not report: two ways to hand over a result that are right, and why the tools take them for
/// races.
#pragma once

/// ThreadSanitizer: lines `race:PATTERN`. A report is dropped if a frame of one of its stacks matches.
constexpr const char* tsan_suppressions = R"(
# ThreadSanitizer does not know fences, so it sees no order between the two accesses to the result.
race:Fences::take
)";

/// Valgrind: the tool and the kind of error, then the frames of the stack from the innermost one. `...` matches any
/// frames, `fun:` a function by its mangled name.
constexpr const char* valgrind_suppressions = R"(
{
   Helgrind takes the atomic flag for a plain one
   Helgrind:Race
   ...
   fun:_ZN7Release*
}
{
   as above, with fences
   Helgrind:Race
   ...
   fun:_ZN6Fences*
}
{
   DRD takes the atomic flag for a plain one
   drd:ConflictingAccess
   ...
   fun:_ZN7Release*
}
{
   as above, with fences
   drd:ConflictingAccess
   ...
   fun:_ZN6Fences*
}
)";
