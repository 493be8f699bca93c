import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { OutgoingEvent } from '../../domain/integrations/outgoing-event.ts'
import type { Sent } from '../../workflows/destinations/destination.ts'
import { eventDestinations } from '../../workflows/destinations/registry.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { type Served, serveVendor } from '../harness/vendors/serve.ts'
import type { Vendor } from '../harness/vendors/vendor.ts'

export const DELIVERY = 'dlv_0123456789abcdefghij'
/** Soon over where nothing comes; no bound on a slow machine otherwise. */
const limitMs = (mood: Served['mood']) => (mood === 'hanging' ? 400 : 20_000)

/** The vendor is up, and its destination sends to it. */
export function destinationBench(vendor: Vendor) {
  const way = outgoing({ allowPrivateNetwork: true })
  const destination = eventDestinations.get(vendor.slug)!
  const bench = {
    vendor: undefined as unknown as Served,
    send: (occurrence: OutgoingEvent, settings = {}, deliveryId = DELIVERY): Promise<Sent> =>
      destination.send(forVendor(vendor, occurrence), {
        outgoing: { ...way, request: request => way.request({ ...request, limitMs: limitMs(bench.vendor.mood) }) },
        settings: { ...bench.vendor.settings, ...settings },
        deliveryId,
        signal: new AbortController().signal,
      }),
  }
  beforeAll(async () => {
    bench.vendor = await serveVendor(vendor)
  })
  beforeEach(() => {
    bench.vendor.mood = 'well'
    bench.vendor.seen.length = 0
    bench.vendor.faults.length = 0
  })
  afterAll(async () => {
    await way.close()
    await bench.vendor.close()
  })
  return bench
}

/** Adjust takes its own tokens only. */
const forVendor = (vendor: Vendor, occurrence: OutgoingEvent): OutgoingEvent =>
  vendor.slug === 'adjust' && occurrence.outgoing_name === occurrence.name ? { ...occurrence, outgoing_name: 'abc123' } : occurrence
