import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ConsoleSource } from '../../api/console/source.ts'

const FOLDER = fileURLToPath(new URL('../../web/console/dist', import.meta.url))

/** The pages that `npm run build:console` has built. */
export const consoleSource = (folder = FOLDER): ConsoleSource => ({
  folder,
  state: () => (existsSync(`${folder}/manifest.json`) ? 'built' : 'missing'),
})
