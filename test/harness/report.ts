import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ReportDelivery, ReportScope } from '../../workflows/report-destinations/report-destination.ts'

type Changes = {
  content?: Buffer
  run?: Partial<ReportDelivery['run']>
  export?: Partial<ReportDelivery['export']>
  name?: string
  timezone?: string
  charts?: ReportDelivery['charts']
}

/** A report run with this file. */
export function reportOf({
  content = Buffer.from('Event Date\n'),
  run,
  export: file,
  name = 'Daily <events> & more',
  timezone = 'America/New_York',
  charts = null,
}: Changes = {}): ReportDelivery {
  const sha256 = createHash('sha256').update(content).digest('hex')
  const manifest = { rows: 12, bytes: content.length, sha256, from_offsets: [], to_offsets: [], columns_version: 1 }
  return {
    report: { id: 'rep_1', name, timezone },
    run: {
      id: 'rrn_1',
      slot: '2026-01-02T09:00:00Z',
      from: '2026-01-01T09:00:00Z',
      to: '2026-01-02T09:00:00Z',
      test: false,
      resends: 0,
      ...run,
    },
    export: {
      rows: 12,
      bytes: content.length,
      sha256,
      format: 'csv',
      file_url: 'https://perennial.example/files/exp_1?signature=a&b=c',
      expires_at: '2026-01-09T09:00:00Z',
      manifest,
      openFile: async () => Readable.from(piecesOf(content)),
      ...file,
    },
    charts,
  }
}

function* piecesOf(content: Buffer) {
  for (let at = 0; at < content.length; at += 60_000) yield content.subarray(at, at + 60_000)
}

export const scopeOf = (settings: object, more: Partial<ReportScope> = {}): ReportScope => ({
  integration: { id: 'int_1' },
  environment: 'production',
  settings: { ...settings },
  signal: new AbortController().signal,
  ...more,
})
