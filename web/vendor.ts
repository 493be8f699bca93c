// `npm run vendor` brings the file of the API reference into web/vendor/. The package needs 272 others to be installed, and the service needs this
// one file of it, which contains them: so it is no dependency.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const PACKAGE = '@scalar/api-reference@1.72.1'
const INTEGRITY = 'sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow=='
const VENDOR = new URL('vendor/', import.meta.url)

const folder = mkdtempSync(join(tmpdir(), 'perennial-vendor-'))
try {
  const [packed] = JSON.parse(execFileSync('npm', ['pack', PACKAGE, '--json', '--pack-destination', folder], { encoding: 'utf8' }))
  if (packed.integrity !== INTEGRITY) throw new Error(`${PACKAGE} has the integrity ${packed.integrity}`)
  execFileSync('tar', ['xzf', join(folder, packed.filename), '-C', folder])
  const script = readFileSync(join(folder, 'package/dist/browser/standalone.js'))
  writeFileSync(new URL('scalar.js.gz', VENDOR), gzipSync(script, { level: 9 }))
  // The package says its licence, and has no file with it.
  const { name, version, license, homepage } = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8'))
  writeFileSync(new URL('scalar.txt', VENDOR), `${name} ${version}, ${license}, ${homepage}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
