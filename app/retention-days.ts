import { RETENTION_DAYS, type RetentionDays } from '../domain/kernel/retention-days.ts'

const MOST = 3_650
/** Readiness and alerts count the deliveries and report runs that failed within the last 24 hours. */
const LEAST = 2
/** The `frequency` of an automation counts the runs of 30 days one by one. */
const LEAST_OF_AUTOMATION_RUNS = 31
/** Whoever looks for a change that broke something looks for some weeks. */
const LEAST_OF_AUDIT_LOG = 30

/** `number`: reads a variable, and refuses what is not between the limits. */
export const retentionDays = (number: (name: string, fallback: number, min: number, max: number) => number): RetentionDays => ({
  deliveries: number('DELIVERY_RETENTION_DAYS', RETENTION_DAYS.deliveries, LEAST, MOST),
  automationRuns: number('AUTOMATION_RUN_RETENTION_DAYS', RETENTION_DAYS.automationRuns, LEAST_OF_AUTOMATION_RUNS, MOST),
  reportRuns: number('REPORT_RUN_RETENTION_DAYS', RETENTION_DAYS.reportRuns, LEAST, MOST),
  auditLog: number('AUDIT_RETENTION_DAYS', RETENTION_DAYS.auditLog, LEAST_OF_AUDIT_LOG, MOST),
})
