/**
 * For how many days ended rows are kept, by the clock of their environment: the audit log from its entries' time on, the others from their end on.
 * What is counted in the ledger and against the `frequency` of an automation stays.
 */
export type RetentionDays = { deliveries: number; automationRuns: number; reportRuns: number; auditLog: number }

export const RETENTION_DAYS: RetentionDays = { deliveries: 30, automationRuns: 90, reportRuns: 400, auditLog: 400 }
