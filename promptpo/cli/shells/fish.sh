# Completion of promptpo for fish. Once for all shells to come:
#
#   promptpo completion fish > ~/.config/fish/completions/promptpo.fish
#
# or for this shell alone:
#
#   promptpo completion fish | source

function __promptpo_complete
    set -l words (commandline -opc)
    set -l line (commandline -cp | string collect)
    $words[1] completion fish --line "$line" 2>/dev/null
end
complete -c promptpo -f -k -a '(__promptpo_complete)'
