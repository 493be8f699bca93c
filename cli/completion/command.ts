import { type ActionDefinition, action, type CommandDefinition } from '../definition.ts'
import { UsageError } from '../failure.ts'
import { oneOf } from '../phrases.ts'
import { type Completion, candidatesOf } from './candidates.ts'
import { bash, fish, zsh } from './shells.ts'

const SHELLS = new Map<string, (all: Completion[]) => string>([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
])

const DETAILS = `The script completes a command "perennial". Define it in the start file of your shell, for bash and zsh:

  perennial() { /srv/perennial/node_modules/.bin/node /srv/perennial/start.mjs cli "$@"; }
  source <(perennial completion bash)

It reads the same variables as "npm run cli": DATABASE_URL with APP_SECRET, or DATA_DIR, which is ./data if it is not set.`

export const completionAction = (root: () => CommandDefinition): ActionDefinition =>
  action({
    name: 'completion',
    summary: 'print a script that completes commands and options in a shell',
    arguments: [{ name: 'SHELL', says: [...SHELLS.keys()].join(', '), choices: [...SHELLS.keys()] }],
    details: DETAILS,
    examples: ['completion bash', 'completion zsh', 'completion fish'],
    async run({ args: [shell = ''] }, { out }) {
      const script = SHELLS.get(shell)
      if (!script) throw new UsageError(`which shell? ${oneOf([...SHELLS.keys()])}`)
      out(script(candidatesOf(root())))
      return 0
    },
  })
