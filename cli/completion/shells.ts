import { type Completion, typed } from './candidates.ts'

/** The name that is completed: docs/cli.md says how to define it. */
const NAME = 'perennial'

const FILES = "''"
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
const paths = (all: Completion[]) => all.filter(({ words }) => words !== '').map(({ words }) => words)
const valued = (all: Completion[]) =>
  all.flatMap(({ words, options }) =>
    options.filter(({ hasValue }) => hasValue).map(option => ({ at: `${words} ${option.name}`, ...option })),
  )

/** The cases that bash and zsh share. An empty list: a value of the operator's own, or a file. */
const cases = (all: Completion[]) => `  case "$at $previous" in
${valued(all)
  .map(({ at, choices }) => `    ${quoted(at)}) candidates=${choices.length === 0 ? FILES : quoted(choices.join(' '))}; at=none ;;`)
  .join('\n')}
  esac
  case "$at" in
${all.map(one => `    ${quoted(one.words)}) candidates=${quoted(typed(one).join(' '))} ;;`).join('\n')}
  esac`

const steps = (all: Completion[]) => paths(all).map(quoted).join('|')

export const bash = (all: Completion[]): string => `# bash completion of ${NAME}
_${NAME}() {
  local at='' candidates='' i
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${steps(all)}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
${cases(all)}
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _${NAME} ${NAME}`

export const zsh = (all: Completion[]): string => `#compdef ${NAME}
_${NAME}() {
  local at='' candidates='' i
  local previous="\${words[CURRENT-1]}"
  for ((i = 2; i < CURRENT; i++)); do
    case "$at \${words[i]}" in
      ${steps(all)}) at="$at \${words[i]}" ;;
    esac
  done
${cases(all)}
  [[ -n "$candidates" ]] && compadd -- \${=candidates}
  [[ "$at" == none || "\${words[CURRENT]}" != -* ]] && _files
}
compdef _${NAME} ${NAME}`

const fishLines = (one: Completion): string[] => {
  const head = `complete -c ${NAME} -n ${quoted(`__${NAME}_at ${quoted(one.words)}`)}`
  return [
    ...one.commands.map(({ name, says }) => `${head} -f -a ${quoted(name)} -d ${quoted(says)}`),
    ...one.choices.map(name => `${head} -a ${quoted(name)}`),
    ...one.options.map(({ name, says, hasValue, choices }) => {
      const value = choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : hasValue ? ' -r' : ''
      return `${head} -l ${name.slice(2)}${value} -d ${quoted(says)}`
    }),
  ]
}

export const fish = (all: Completion[]): string => `# fish completion of ${NAME}
function __${NAME}_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${paths(all).map(quoted).join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c ${NAME} -l help -d 'print this help'
complete -c ${NAME} -n "__${NAME}_at ''" -l version -d 'print the version'
${all.flatMap(fishLines).join('\n')}`
