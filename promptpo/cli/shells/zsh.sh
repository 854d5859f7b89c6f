#compdef promptpo
# Completion of promptpo for zsh. Once for all shells to come, into a folder of $fpath:
#
#   promptpo completion zsh > "${fpath[1]}/_promptpo"
#
# or in ~/.zshrc, below compinit:
#
#   source <(promptpo completion zsh)

_promptpo() {
    local program="${${(Q)words[1]}/#\~/$HOME}" line word
    local -a closed open
    for line in "${(@f)$("$program" completion zsh \
        --line "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}"; do
        [[ -n $line ]] || continue
        word="${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}"
        if [[ ${line%%$'\t'*} == *[/:=,] ]]; then open+=("$word"); else closed+=("$word"); fi
    done
    (( $#closed )) && _describe -V promptpo closed
    (( $#open )) && _describe -V promptpo open -S ''
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _promptpo "$@"
else
    compdef _promptpo promptpo
fi
