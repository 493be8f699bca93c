import { type ActionDefinition, action, type CommandDefinition } from './definition.ts'
import { execute } from './program.ts'

/** `help stores status` is `stores status --help`. */
export const helpAction = (root: () => CommandDefinition): ActionDefinition =>
  action({
    name: 'help',
    summary: 'print the help of a command, or of all',
    arguments: [{ name: 'COMMAND', says: 'the words of a command', isOptional: true, isMany: true }],
    examples: ['help', 'help stores status'],
    run: ({ args }, context) => execute(root(), [...args, '--help'], context),
  })
