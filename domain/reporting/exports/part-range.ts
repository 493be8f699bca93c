import pg from 'pg'
import { recordedTime } from '../../users/user.ts'

// COPY takes no parameters: its text names them by placeholders, and the text that is executed has their values as literals.
/** The rows of a part, as texts. */
export type PartRange = Record<
  | 'environment'
  | 'platforms'
  | 'members_of'
  | 'updated_from'
  | 'from_offsets'
  | 'to_offsets'
  | 'after_at'
  | 'after_1'
  | 'after_2'
  | 'upto_at'
  | 'upto_1'
  | 'upto_2',
  string
>
export const plain = (name: keyof PartRange, type: string): string => `{{${name}}}::${type}`
/** The same where the planner must not see the value: it would let the value choose the index. */
export const setting = (name: keyof PartRange, type: string): string => `(select ${plain(name, type)})`

/** The text with the values of a range in place. */
export const withRange = (sql: string, range: PartRange): string =>
  sql.replace(/\{\{(\w+)\}\}/g, (_, name: keyof PartRange) => pg.escapeLiteral(range[name]))

// One index probe per row, independent of the planner's estimates: a join could read all members for each part. Without members the
// probe is not executed.
export const isMember = (alias: string, user: string): string => `(${setting('members_of', 'text')} = '' or ((select 1 from export_members m
      where m.environment = ${alias}.environment and m.export_id = ${setting('members_of', 'text')} and m.user_id = ${alias}.${user}) is not null))`

/** SQL: the users of a part of a file that is ordered by them. Each part has all rows of its users. */
export const USERS_ORDER = `${recordedTime('u')}, u.id`
export const USERS_OF_PART = `u.environment = ${plain('environment', 'int')}
    and (${USERS_ORDER}) > (${plain('after_at', 'timestamptz')}, ${plain('after_1', 'text')})
    and (${USERS_ORDER}) <= (${plain('upto_at', 'timestamptz')}, ${plain('upto_1', 'text')})
    and ${isMember('u', 'id')}`
