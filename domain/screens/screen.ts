/** Screens without their layout, as lists show them. */
export type ScreenSummaryRow = {
  id: string
  name: string
  status: 'draft' | 'published'
  type: 'paywall' | 'web_flow' | null
  context_key: string | null
  created_at: string
  updated_at: string
}

/** `project_key`: the Project Key, sealed. */
export type ScreenRow = ScreenSummaryRow & {
  background: string
  default_lang: string
  configs: Record<string, unknown>
  content: Record<string, unknown>
  used: string[]
  project_key: Buffer
}

export const SUMMARY_COLUMNS = 'id, name, status, type, context_key, created_at, updated_at'

export const SCREEN_COLUMNS = `${SUMMARY_COLUMNS}, background, default_lang, configs, content, used,
  (select sealed from keys where project = (select project from environments where id = screens.environment)
     and kind = 'project' and expires_at is null order by id desc limit 1) as project_key`
