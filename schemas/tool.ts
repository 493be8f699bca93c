/** A JSON Schema of draft 2020-12. */
export type ToolSchema = Record<string, unknown>

/** What clients see of a tool in a list. */
export type ListedTool = {
  name: string
  title: string
  description: string
  inputSchema: ToolSchema
  outputSchema: ToolSchema
  annotations: Record<string, boolean>
}

/** A tool of the MCP server as schemas/generated/tools.json has it. */
export type DescribedTool = {
  /** Of the operation. */
  id: string
  listed: ListedTool
  /** The arguments in more detail, for a list with few tools; null: in no more detail. */
  detailed: ToolSchema | null
  scope: string
  /** Where each argument belongs: the part of the request, and its name there. */
  sources: Record<string, readonly ['path' | 'query' | 'body', string]>
  /** Whether a call must be confirmed. `disable`: only where the argument `enabled` is false. */
  confirm: 'always' | 'disable' | null
  /** The argument that `confirm_id` repeats; null: the id of the project. */
  confirmed: string | null
}
