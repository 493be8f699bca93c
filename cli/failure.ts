import { operatorLine } from '../app/exit-line.ts'

/** The program prints the message as one line and exits with 1. */
export class CliError extends Error {}

/** The arguments of the command are wrong: the program also says where its help is. */
export class UsageError extends CliError {}

/** One line for the operator; undefined for a fault of the program, which is printed with its stack. */
export const lineOf = (error: unknown): string | undefined => (error instanceof CliError ? error.message : operatorLine(error))

/** The errno of a failed file operation or connection; '' for any other error. */
export const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
