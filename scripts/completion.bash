# Completes options, commands, and the names of recipes, chapters and exercises: source scripts/completion.bash
_cookbook() {
  local found
  found=$("$(dirname "${COMP_WORDS[0]}")/cookbook/start" complete "$(basename "${COMP_WORDS[0]}")" \
    "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null) || return
  mapfile -t COMPREPLY < <(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -F _cookbook scripts/{setup,run,test,bench,list,exercise,new_recipe,mutate,site,update_index}
