import type { AccessScope, Rank } from '../domain/access/actions.ts'

/** Who a caller is, and within which limits. */
export interface AccountView {
  /** `owner`, `user:mia`, and so on. */
  principal: string
  rank: Rank
  /** What the token is limited to; null for all that the role allows. */
  scopes: AccessScope[] | null
  /** Whether the caller's words are trusted. */
  trusted: boolean
  /** The one folder of a user's sessions; null for callers who choose. */
  folder: string | null
  perDayUsd: number | null
}

/** The caller. */
export interface AccountApp {
  whoami(): Promise<AccountView>
}
