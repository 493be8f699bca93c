// `npm run build`: dist/, plain ES modules with their types, as they are published.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** The compiler turns the `.ts` of import paths into `.js` in modules, but leaves it in declarations, where Deno would not find the file. */
const published = (path: string, text: string) =>
  path.endsWith('.d.ts') ? text.replaceAll(/(\bfrom |\bimport\()(['"])(\.{1,2}\/[^'"]+)\.ts\2/g, '$1$2$3.js$2') : text

/** Throws what the compiler finds wrong. */
export function build(folder = join(import.meta.dirname, 'dist')): void {
  const { config, error } = ts.readConfigFile(join(import.meta.dirname, 'tsconfig.json'), ts.sys.readFile)
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(config, ts.sys, import.meta.dirname, { outDir: folder })
  const host = ts.createCompilerHost(options)
  const program = ts.createProgram(fileNames, options, {
    ...host,
    writeFile: (path, text, ...more) => host.writeFile(path, published(path, text), ...more),
  })
  const wrong = [...(error ? [error] : []), ...errors, ...ts.getPreEmitDiagnostics(program)]
  if (wrong.length > 0) throw new Error(ts.formatDiagnostics(wrong, host))
  rmSync(folder, { recursive: true, force: true })
  program.emit()
}

if (import.meta.main) build()
