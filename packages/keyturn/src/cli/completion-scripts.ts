// The scripts by which shells ask for completions. They know nothing of commands and flags, and so never grow old.

/** The shells there are scripts for. */
export const shells = ["bash", "zsh", "fish", "powershell"] as const;
export type Shell = (typeof shells)[number];

/** `keyturn completion bash` and so on: to be evaluated by the shell. */
export const scripts: Readonly<Record<Shell, string>> = {
  bash: `# Completion of keyturn for bash. In ~/.bashrc: source <(keyturn completion bash)
_keyturn() {
  local line=\${COMP_LINE:0:COMP_POINT} words reply directive=4 current typed strip value
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=\${words[\${#words[@]}-1]}
  # Bash breaks words at = and :, and replaces only what stands after.
  typed=\${COMP_WORDS[COMP_CWORD]}
  [[ $typed == [=:] ]] && typed=
  strip=$((\${#current} - \${#typed}))
  COMPREPLY=()
  while IFS= read -r reply; do
    case $reply in
      :*) directive=\${reply#:} ;;
      *) value=\${reply%%$'\\t'*}; COMPREPLY+=("\${value:strip}") ;;
    esac
  done < <("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null)
  if [[ $directive == 0 ]] && type compopt >/dev/null 2>&1; then compopt -o default; fi
}
complete -F _keyturn keyturn
`,
  zsh: `#compdef keyturn
# Completion of keyturn for zsh. In ~/.zshrc, after compinit: source <(keyturn completion zsh)
_keyturn() {
  local line directive=4
  local -a lines candidates
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${lines[@]}"; do
    if [[ $line == :* ]]; then directive=\${line#:}; continue; fi
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#candidates} )); then _describe keyturn candidates
  elif [[ $directive == 0 ]]; then _files
  fi
}
compdef _keyturn keyturn
`,
  fish: `# Completion of keyturn for fish: keyturn completion fish > ~/.config/fish/completions/keyturn.fish
function __keyturn_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] 2>/dev/null)
        if test "$line" = :0
            __fish_complete_path (commandline -ct)
        else if not string match -q -- ':*' $line
            echo $line
        end
    end
end
complete -c keyturn -f -a '(__keyturn_complete)'
`,
  powershell: `# Completion of keyturn for PowerShell. In $PROFILE: keyturn completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName keyturn -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '""' }
    keyturn __complete @words 2>$null | Where-Object { $_ -notmatch '^:' } | ForEach-Object {
        $word, $help = $_ -split "\`t", 2
        if (-not $help) { $help = $word }
        [System.Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $help)
    }
}
`,
};
