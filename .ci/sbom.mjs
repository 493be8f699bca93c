// Lists the packages that run, as CycloneDX, on standard output. `npm sbom --omit dev` leaves out every package that a tool of development
// needs as well (of 11.19, a third of those that run), so the list of all packages is reduced to those that the lock file does not mark as dev.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const read = file => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'))
const { packages } = read('package-lock.json')
const running = new Set()
for (const [path, { name, version, dev, devOptional }] of Object.entries(packages))
  if (path !== '' && !dev && !devOptional)
    running.add(`${name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`)

const npm = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx']
const bom = JSON.parse(execFileSync('npm', npm, { encoding: 'utf8', maxBuffer: 2 ** 28 }))
const root = bom.metadata.component['bom-ref']
const isRunning = ref => ref === root || running.has(ref)
bom.components = bom.components.filter(component => isRunning(component['bom-ref']))
bom.dependencies = bom.dependencies
  .filter(({ ref }) => isRunning(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(isRunning) }))

const listed = new Set(bom.components.map(component => component.name))
const missing = Object.keys(read('package.json').dependencies).filter(name => !listed.has(name))
if (missing.length > 0) throw new Error(`not in the list: ${missing.join(', ')}`)
process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`)
