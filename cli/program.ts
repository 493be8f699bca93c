import { Command, CommanderError, Help, Option } from 'commander'
import type { CliCommand, CommandContext } from './command.ts'
import {
  type ActionDefinition,
  actionsOf,
  type CommandDefinition,
  commandUsage,
  EXITS,
  type GroupDefinition,
  isGroup,
  optionTerm,
  reached,
} from './definition.ts'
import { UsageError } from './failure.ts'
import { oneOf } from './phrases.ts'

/** How an operator starts the command line. It is the name of the root of all commands. */
export const PROGRAM = 'npm run cli --'

type Given = { args: string[]; values: Record<string, unknown> }
type Parsed = Given & { action: ActionDefinition }
type Receiver = { print: (text: string) => void; receive: (parsed: Parsed) => void; words: string[]; version: string | undefined }

function detailsOf({ details, exits, examples }: ActionDefinition): string {
  const shown = ['Examples:', ...examples.map(example => `  ${PROGRAM} ${example}`)].join('\n')
  return [...(details === undefined ? [] : [details]), `Exit code: ${exits ?? EXITS}`, shown].map(part => `\n${part}`).join('\n')
}

function buildAction(command: Command, definition: ActionDefinition, { receive }: Receiver): void {
  const { arguments: names = [], options = {} } = definition
  const given: Given['values'] = {}
  for (const { name, says, isMany } of names) command.argument(isMany ? `[${name}...]` : `[${name}]`, says)
  for (const [name, option] of Object.entries(options)) {
    const { says, value, isMany, default: standard } = option
    given[name] = isMany ? [] : value === undefined ? false : standard
    const made = new Option(optionTerm(name, option), says)
    if (standard !== undefined) made.default(standard, standard)
    command.addOption(made)
    // By its own name, as commander takes --no-x for a value of --x.
    command.on(`option:${name}`, text => {
      given[name] = value === undefined ? true : isMany ? [...(given[name] as string[]), text] : text
    })
  }
  command.addHelpText('after', detailsOf(definition))
  // The commands themselves say what is missing, in words that name the remedy.
  command.allowExcessArguments(true)
  command.action(() => {
    const { args } = command
    if (!names.some(({ isMany }) => isMany) && args.length > names.length)
      throw new UsageError(`too many arguments: ${args.slice(names.length).join(' ')}`)
    receive({ action: definition, args, values: given })
  })
}

function buildGroup(command: Command, definition: GroupDefinition, receiver: Receiver): void {
  for (const one of definition.commands) command.addCommand(build(one, { ...receiver, words: [...receiver.words, one.name] }))
  // The help of a group lists all that can be done below it, with arguments. Suggestions still come from its own commands.
  const listed = actionsOf(definition).map(({ words, action }) =>
    new Command(words.join(' ')).usage(commandUsage(action)).description(action.summary),
  )
  const listing = Object.assign(new Help(), {
    visibleCommands: () => listed,
    subcommandTerm: (one: Command) => `${one.name()} ${one.usage()}`,
  })
  command.configureHelp({
    formatHelp: (one, { helpWidth }) => listing.formatHelp(one, Object.assign(listing, helpWidth !== undefined && { helpWidth })),
  })
}

function build(definition: CommandDefinition, receiver: Receiver): Command {
  const command = new Command(definition.name)
    .description(definition.summary)
    .usage(commandUsage(definition))
    .helpCommand(false)
    .helpOption('-h, --help', 'print this help')
    .exitOverride()
    .configureOutput({ writeOut: receiver.print, writeErr: () => {} })
  if (receiver.version !== undefined && receiver.words.length === 0) command.version(receiver.version, '-V, --version', 'print the version')
  if (isGroup(definition)) buildGroup(command, definition, receiver)
  else buildAction(command, definition, receiver)
  return command
}

/** What commander has found wrong, in the words of the house. Null: nothing, it has printed the help or the version. */
function faultOf(error: CommanderError, root: CommandDefinition, args: string[]): UsageError | null {
  const { words, command } = reached(root, args)
  const path = [...(root.name === PROGRAM ? [] : [root.name]), ...words]
  const known = isGroup(command) ? oneOf(command.commands.map(({ name }) => name)) : ''
  const [, similar] = /\(Did you mean (.*)\?\)/.exec(error.message) ?? []
  const hint = similar === undefined ? '' : `, did you mean ${similar.replace(/^one of /, '')}?`
  switch (error.code) {
    case 'commander.helpDisplayed':
    case 'commander.version':
      return null
    case 'commander.help':
      return new UsageError(path.length === 0 ? 'which command?' : `which command? ${path.join(' ')} ${known}`)
    case 'commander.unknownCommand': {
      const name = JSON.stringify([...path, args[words.length]].join(' '))
      return new UsageError(`there is no command ${name}${hint === '' && path.length > 0 ? `: ${known}?` : hint}`)
    }
    default:
      return new UsageError(`${error.message.split('\n')[0]!.replace(/^error: /, '')}${hint}`)
  }
}

/** Parses the arguments. Null: the help or the version was asked for and is printed. Throws UsageError. */
export function parse(root: CommandDefinition, args: string[], print: (text: string) => void, version?: string): Parsed | null {
  const parsed: Parsed[] = []
  const command = build(root, { print, words: [], version, receive: one => void parsed.push(one) })
  const { words, command: found } = reached(root, args)
  const next = args[words.length]
  const isUnknown = isGroup(found) && next !== undefined && !next.startsWith('-')
  try {
    // commander would answer `bogus --help` with the help of the whole program.
    command.parse(isUnknown ? args.slice(0, words.length + 1) : args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    const fault = faultOf(error, root, args)
    if (fault !== null) throw fault
  }
  return parsed[0] ?? null
}

/** Parses the arguments and carries out the command. */
export async function execute(root: CommandDefinition, args: string[], context: CommandContext, version?: string): Promise<number> {
  const parsed = parse(root, args, text => context.out(text.replace(/\n$/, '')), version)
  return parsed === null ? 0 : parsed.action.run(parsed as Parameters<ActionDefinition['run']>[0], context)
}

export const commandOf =
  (definition: CommandDefinition): CliCommand =>
  (args, context) =>
    execute(definition, args, context)
