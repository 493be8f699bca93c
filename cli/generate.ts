// `npm run generate` writes docs/cli.md from the definitions of the commands. It is committed.
import { writeFileSync } from 'node:fs'
import { root } from './commands.ts'
import { referencePage } from './page.ts'

if (import.meta.main) writeFileSync(new URL('../docs/cli.md', import.meta.url), referencePage(root))
