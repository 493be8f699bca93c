import { createHash, X509Certificate } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appleRootCertificates } from '../../../workflows/stores/apple/root-certificates.ts'
import { appleChain } from '../../harness/stores/apple-chain.ts'

const [first, second] = [appleChain().root, appleChain().root]
const pem = (der: Buffer) => new X509Certificate(der).toString()
let folder = ''
const file = async (name: string, content: string | Buffer) => {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roots-'))
})
afterAll(() => rm(folder, { recursive: true }))

test('the shipped root is Apple Root CA G3', async () => {
  const [root, ...others] = await appleRootCertificates()
  expect(others).toEqual([])
  expect(root).toHaveLength(583)
  expect(createHash('sha256').update(root!).digest('hex')).toBe('63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179')
  expect(new X509Certificate(root!).subject).toContain('CN=Apple Root CA - G3')
})

test('given files replace it: DER, PEM, and several certificates in one PEM', async () => {
  const der = await file('one.cer', first)
  expect(await appleRootCertificates([der])).toEqual([first])
  const both = await file('two.pem', `a comment\n${pem(first)}\n${pem(second)}`)
  expect(await appleRootCertificates([both])).toEqual([first, second])
  expect(await appleRootCertificates([der, both])).toHaveLength(3)
})

test('a file without a certificate is named', async () => {
  const text = await file('none.pem', 'no certificate')
  await expect(appleRootCertificates([text])).rejects.toThrow(`${text} has no certificate in DER or PEM`)
  await expect(appleRootCertificates([join(folder, 'absent.cer')])).rejects.toThrow('absent.cer')
})
