import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const DESCRIPTION = fileURLToPath(new URL('../../schemas/generated/openapi.json', import.meta.url))
const OPERATIONS = 'virtual:operations'

type Described = { paths: Record<string, Record<string, { operationId?: string }>> }

/** Method and path of each operation, out of the description: the typed client itself would add 40 kB to the pages. */
function operations(): Plugin {
  return {
    name: 'operations',
    resolveId: id => (id === OPERATIONS ? `\0${OPERATIONS}` : undefined),
    load(id) {
      if (id !== `\0${OPERATIONS}`) return
      this.addWatchFile(DESCRIPTION)
      const { paths } = JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as Described
      const all = Object.entries(paths).flatMap(([path, item]) =>
        Object.entries(item).flatMap(([method, { operationId }]) =>
          operationId ? [[operationId, `${method.toUpperCase()} ${path}`]] : [],
        ),
      )
      return `export const OPERATIONS = ${JSON.stringify(Object.fromEntries(all))}`
    },
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  plugins: [react(), operations()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    manifest: 'manifest.json',
    modulePreload: { polyfill: false },
    // A file in a page would be a data: address, which the policy of the page refuses for fonts.
    assetsInlineLimit: 0,
  },
})
