import type { CommandContext } from './command.ts'

export type ArgumentDefinition = { name: string; says: string; isOptional?: true; isMany?: true; choices?: readonly string[] }

/** `value`: how the help names the value; without it the option is a switch. */
export type OptionDefinition = { says: string; value?: string; default?: string; isMany?: true; choices?: readonly string[] }
type OptionDefinitions = Record<string, OptionDefinition>

type ValueOf<O extends OptionDefinition> = O extends { value: string }
  ? O extends { isMany: true }
    ? string[]
    : O extends { default: string }
      ? string
      : string | undefined
  : boolean
/** The values of the options by their names, as they are written after `--`. */
export type OptionValues<O extends OptionDefinitions> = { [Name in keyof O]: ValueOf<O[Name]> }
export type CommandInput<O extends OptionDefinitions> = { args: string[]; values: OptionValues<O> }

type Described = { name: string; summary: string }

/** A command that does something. The parser, the help, the completion and docs/cli.md are made from it. */
export type ActionDefinition<O extends OptionDefinitions = OptionDefinitions> = Described & {
  arguments?: ArgumentDefinition[]
  options?: O
  /** More of the help, as it is printed. */
  details?: string
  /** The exit codes, where they are not only 0 and 1. */
  exits?: string
  /** What follows the name of the program. */
  examples: string[]
  run: (input: CommandInput<O>, context: CommandContext) => Promise<number>
}
/** A word that only leads to other commands. */
export type GroupDefinition = Described & { commands: CommandDefinition[] }
export type CommandDefinition = ActionDefinition | GroupDefinition

/** Infers the types of the values from the options. */
export const action = <const O extends OptionDefinitions = Record<never, never>>(definition: ActionDefinition<O>): ActionDefinition =>
  definition as unknown as ActionDefinition

export const isGroup = (definition: CommandDefinition): definition is GroupDefinition => 'commands' in definition

export const EXITS = '0 done, 1 failed'

export const JSON_OPTION = { json: { says: 'print JSON instead of a table' } } as const satisfies OptionDefinitions

export const argumentTerm = ({ name, isOptional, isMany }: ArgumentDefinition): string => {
  const term = isMany ? `${name} …` : name
  return isOptional ? `[${term}]` : term
}

export const optionTerm = (name: string, { value }: OptionDefinition): string => `--${name}${value === undefined ? '' : ` <${value}>`}`

/** What follows the name of a command in its usage. */
export function commandUsage(definition: CommandDefinition): string {
  if (isGroup(definition)) return 'COMMAND'
  const options = Object.keys(definition.options ?? {}).length > 0 ? ['[options]'] : []
  return [...(definition.arguments ?? []).map(argumentTerm), ...options].join(' ')
}

/** All commands below a definition that do something, each with the words that lead to it. */
export function actionsOf(definition: CommandDefinition, words: string[] = []): { words: string[]; action: ActionDefinition }[] {
  if (!isGroup(definition)) return [{ words, action: definition }]
  return definition.commands.flatMap(one => actionsOf(one, [...words, one.name]))
}

/** The longest run of words that leads from a definition to a command, and that command. */
export function reached(definition: CommandDefinition, args: string[]): { words: string[]; command: CommandDefinition } {
  let command = definition
  const words: string[] = []
  for (const word of args) {
    const next = isGroup(command) ? command.commands.find(({ name }) => name === word) : undefined
    if (!next) break
    command = next
    words.push(word)
  }
  return { words, command }
}
