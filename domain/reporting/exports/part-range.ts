import { recordedTime } from '../../users/user.ts'

// COPY takes no parameters. The variable values are settings of the transaction (set_config), never part of the statement's text. A
// subquery reads each setting once: in the condition itself it would be parsed for every row.
export const COPY_SETTINGS = [
  'environment',
  'platforms',
  'members_of',
  'updated_from',
  'from_offsets',
  'to_offsets',
  'after_at',
  'after_1',
  'after_2',
  'upto_at',
  'upto_1',
  'upto_2',
] as const
type CopySetting = (typeof COPY_SETTINGS)[number]
export type CopySettings = Record<CopySetting, string>
export const setting = (name: CopySetting, type: string): string => `(select current_setting('perennial.${name}')::${type})`
export const plain = (name: CopySetting, type: string): string => `current_setting('perennial.${name}')::${type}`

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
