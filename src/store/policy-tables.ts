/** Rows of profiles, the registry of agents and pins. */
export interface PolicyTables {
  policies: {
    resource_type: 'policy' | 'profile'
    resource_id: string
    version: number
    value_json: string
    updated_at: number
    updated_by: string
  }
  policy_versions: {
    resource_type: 'policy' | 'profile'
    resource_id: string
    version: number
    /** Null for a removal. */
    value_json: string | null
    at: number
    by_principal: string
  }
}
