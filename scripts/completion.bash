# Completes the names of the recipes for scripts/run, bench, mutate and stress: source scripts/completion.bash
_cookbook_recipes() {
  local names
  names=$("$(dirname "${COMP_WORDS[0]}")/list" --names 2>/dev/null) || return
  mapfile -t COMPREPLY < <(compgen -W "$names --all --no-setup" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -F _cookbook_recipes scripts/run scripts/bench scripts/mutate scripts/stress
