import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { requireCommand } from '../harness/debian-package.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const SUITE = 'bookworm'
/** Where this machine keeps the certificates that its registry is known by. */
const AUTHORITIES = process.env.NODE_EXTRA_CA_CERTS ?? '/etc/ssl/certs/ca-certificates.crt'

export type Output = { stdout: string; stderr: string }

/** Images and containers in a storage of the test's own. */
export type Containers = {
  folder: string
  /** Builds a target of the Containerfile on the base of the test. */
  build(target: string): Promise<string>
  podman(...args: string[]): Promise<Output>
  end(): Promise<void>
}

/**
 * A base without a registry of images: a minimal Debian, and the same with the Node and npm of this machine as the builder. Debian's own packages
 * come from where this machine gets them. TEST_CONTAINERS names a folder on a disk that keeps images and layers for the next run: minutes less.
 */
export async function startContainers(): Promise<Containers> {
  for (const command of ['buildah', 'podman', 'mmdebstrap', 'runc']) await requireCommand(command)
  const kept = process.env.TEST_CONTAINERS
  if (kept) await mkdir(kept, { recursive: true })
  // Gigabytes: not where the temporary files of tests are in memory.
  const folder = kept ?? (await mkdtemp('/var/tmp/perennial-containers-'))
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'overlay']
  const policy = join(folder, 'policy.json')
  await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }))
  const env = { ...process.env, TMPDIR: folder }
  const command = (name: string, ...args: string[]) => run(name, [...storage, ...args], { cwd: ROOT, env, maxBuffer: 2 ** 28 })
  const buildah = (...args: string[]) => command('buildah', ...args)

  const isThere = (image: string) =>
    buildah('inspect', '--type', 'image', `localhost/${image}`).then(
      () => true,
      () => false,
    )
  const base = join(folder, 'base.tar')
  const makeTar = () =>
    run(
      'mmdebstrap',
      ['--variant=minbase', '--include=libstdc++6,ca-certificates', SUITE, base, '/etc/apt/sources.list.d/debian.sources'],
      { env, maxBuffer: 2 ** 26 },
    )
  const imageOf = async (name: string, from: string, add: (container: string) => Promise<unknown>) => {
    const container = (await buildah('from', '--name', `making-${name}`, from)).stdout.trim()
    await add(container)
    await buildah('commit', '--quiet', '--format', 'docker', container, `localhost/${name}`)
    await buildah('rm', container)
  }
  if (!(await isThere('base'))) {
    await makeTar()
    await imageOf('base', 'scratch', container => buildah('add', '--quiet', container, base, '/'))
  }
  if (!(await isThere('builder')))
    await imageOf('builder', 'localhost/base', async container => {
      const npm = dirname(dirname(await realpath((await run('sh', ['-c', 'command -v npm'])).stdout.trim())))
      const node = join(folder, 'node')
      await copyFile(process.execPath, node)
      await buildah('copy', '--quiet', '--chmod', '755', container, node, '/usr/local/bin/node')
      await buildah('copy', '--quiet', container, npm, '/usr/local/lib/npm')
      await writeFile(join(folder, 'npm'), '#!/bin/sh\nexec node /usr/local/lib/npm/bin/npm-cli.js "$@"\n')
      await buildah('copy', '--quiet', '--chmod', '755', container, join(folder, 'npm'), '/usr/local/bin/npm')
    })

  return {
    folder,
    async build(target) {
      const settings = [
        '--build-arg',
        'BASE=localhost/base',
        '--build-arg',
        'BUILDER=localhost/builder',
        '--build-arg',
        'VERSION=0.0.0-test',
      ]
      const secrets = ['--secret', `id=ca,src=${AUTHORITIES}`]
      const image = `localhost/perennial-${target}`
      await buildah(
        ...['build', '--isolation', 'chroot', '--format', 'docker', '--layers', '--pull-never', '--signature-policy', policy],
        ...[...settings, ...secrets, '--target', target, '-t', image, '-f', 'Containerfile', '.'],
      )
      return image
    },
    podman: (...args) => command('podman', '--cgroup-manager', 'cgroupfs', '--runtime', 'runc', ...args),
    async end() {
      await command('podman', 'rm', '--all', '--force').catch(() => {})
      await buildah('rm', '--all').catch(() => {})
      if (kept) return
      await run('umount', ['-R', join(folder, 'storage/overlay')]).catch(() => {})
      await rm(folder, { recursive: true, force: true })
    },
  }
}
