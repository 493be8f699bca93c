import { type CommandDefinition, isGroup } from '../definition.ts'

/** What may follow the words of a command. `words`: '' for the program, else ' project set'. */
export type Completion = {
  words: string
  commands: { name: string; says: string }[]
  options: { name: string; says: string; hasValue: boolean; choices: readonly string[] }[]
  /** What the first argument may be, if it is one of a few words. */
  choices: readonly string[]
}

/** The candidates of a command and of all below it. Nothing of them needs quoting in a shell but `says`. */
export function candidatesOf(command: CommandDefinition, words = ''): Completion[] {
  if (isGroup(command)) {
    const commands = command.commands.map(({ name, summary }) => ({ name, says: summary }))
    return [{ words, commands, options: [], choices: [] }, ...command.commands.flatMap(one => candidatesOf(one, `${words} ${one.name}`))]
  }
  const options = Object.entries(command.options ?? {}).map(([name, { says, value, choices = [] }]) => ({
    name: `--${name}`,
    says,
    hasValue: value !== undefined,
    choices,
  }))
  return [{ words, commands: [], options, choices: (command.arguments ?? []).flatMap(({ choices = [] }) => choices) }]
}

/** All that can be typed after these words. */
export const typed = ({ words, commands, options, choices }: Completion): string[] => [
  ...commands.map(({ name }) => name),
  ...choices,
  ...options.map(({ name }) => name),
  ...(words === '' ? ['--help', '--version'] : ['--help']),
]
