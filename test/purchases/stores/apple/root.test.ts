import { createHash, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { appleRootCertificate } from '../../../../workflows/stores/apple/root-certificate.ts'

test('the shipped root is Apple Root CA G3', async () => {
  const root = await appleRootCertificate()
  expect(root).toHaveLength(583)
  expect(createHash('sha256').update(root).digest('hex')).toBe('63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179')
  expect(new X509Certificate(root).subject).toContain('CN=Apple Root CA - G3')
})
