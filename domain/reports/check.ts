import { type Detail, invalidFields } from '../refusal.ts'
import type { ReportRequest } from './report.ts'
import { isZone } from './slots.ts'

/** Rules beyond a schema. Throws `invalid_data` with everything that is wrong. */
export function checkReport({ input, destinationIds, faults: known }: ReportRequest): void {
  const { timezone, cadence, weekday, day_of_month } = input
  const faults: Detail[] = [...known]
  const wanted = (field: string, value: unknown, of: string) => {
    if (cadence === of && value === null) faults.push({ field, message: `is required for ${of}` })
    if (cadence !== of && value !== null) faults.push({ field, message: `must be null unless cadence is ${of}` })
  }
  if (!isZone(timezone)) faults.push({ field: 'timezone', message: 'must be a name of the IANA time zone database' })
  wanted('weekday', weekday, 'weekly')
  wanted('day_of_month', day_of_month, 'monthly')
  for (const [i, id] of destinationIds.entries())
    if (destinationIds.indexOf(id) < i) faults.push({ field: `destinations[${i}].id`, message: 'must be named once' })
  if (faults.length > 0) throw invalidFields(faults)
}
