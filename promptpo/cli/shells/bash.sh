# Completion of promptpo for bash, version 4.4 or later. Once for all shells to come:
#
#   mkdir -p ~/.local/share/bash-completion/completions
#   promptpo completion bash > ~/.local/share/bash-completion/completions/promptpo
#
# which needs the package bash-completion; or in ~/.bashrc, which does not:
#
#   source <(promptpo completion bash)

_promptpo() {
    local program="${1/#\~/$HOME}"
    mapfile -t COMPREPLY < <("$program" completion bash --line "${COMP_LINE:0:COMP_POINT}" \
        --breaks "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[/:=,] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o nosort -F _promptpo promptpo
