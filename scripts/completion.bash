# Completes the names of the recipes for scripts/run, bench, mutate and stress, and those of the exercises for
# scripts/exercise: source scripts/completion.bash
_cookbook_recipes() {
  local names
  names=$("$(dirname "${COMP_WORDS[0]}")/list" --names 2>/dev/null) || return
  mapfile -t COMPREPLY < <(compgen -W "$names --all --no-setup" -- "${COMP_WORDS[COMP_CWORD]}")
}
_cookbook_exercises() {
  local names="start check run diff watch hint solution"
  if [[ $COMP_CWORD -gt 1 ]]; then
    names=$("$(dirname "${COMP_WORDS[0]}")/exercise" --names 2>/dev/null) || return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$names" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -F _cookbook_recipes scripts/run scripts/bench scripts/mutate scripts/stress
complete -F _cookbook_exercises scripts/exercise
