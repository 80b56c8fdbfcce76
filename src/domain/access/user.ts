import type { Millis } from '../clock.ts'
import type { UserRole } from './principal.ts'

/** Someone besides the owner, with what the owner decided about them. */
export interface User {
  id: string
  role: UserRole
  /** The owner vouches for this user's words: they are trusted like the owner's. */
  isTrusted: boolean
  /** Tools of the user's runs instead of those of the role: names and patterns. Null for those of the role. */
  tools: string[] | null
  /** The one folder in which the user's sessions lie; an admin may choose others. */
  folder: string
  /** Max cost of the user's runs in a day; null for no limit besides the budget of all. */
  perDayUsd: number | null
  createdAt: Millis
  removedAt: Millis | null
}

/** What a token is for: programs, one link that signs a browser in, or a browser that is signed in. */
export const tokenKinds = ['token', 'link', 'browser'] as const
export type TokenKind = (typeof tokenKinds)[number]

/** A token. The secret itself is not stored. */
export interface Token {
  id: number
  kind: TokenKind
  /** Null for one of the owner. */
  userId: string | null
  scopes: string[] | null
  createdAt: Millis
  expiresAt: Millis | null
  revokedAt: Millis | null
}
