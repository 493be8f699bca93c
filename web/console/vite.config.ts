import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const DESCRIPTION = fileURLToPath(new URL('../../schemas/generated/openapi.json', import.meta.url))
const OPERATIONS = 'virtual:operations'

const SCOPES = 'virtual:scopes'
const MODULES: readonly string[] = [OPERATIONS, SCOPES]

type Described = {
  paths: Record<string, Record<string, { operationId?: string }>>
  components: { schemas: { Scope: { enum: string[] } } }
}

/** Method and path of each operation, and the scopes, out of the description: the typed client itself would add 40 kB to the pages. */
function described(): Plugin {
  return {
    name: 'described',
    resolveId: id => (MODULES.includes(id) ? `\0${id}` : undefined),
    load(id) {
      if (!MODULES.includes(id.slice(1))) return
      this.addWatchFile(DESCRIPTION)
      const { paths, components } = JSON.parse(readFileSync(DESCRIPTION, 'utf8')) as Described
      if (id === `\0${SCOPES}`) return `export const SCOPES = ${JSON.stringify(components.schemas.Scope.enum)}`
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
  plugins: [react(), described()],
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
