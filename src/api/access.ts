import type { AccessScope } from '../domain/access/actions.ts'
import type { UserRole } from '../domain/access/principal.ts'
import type { TokenKind } from '../domain/access/user.ts'
import type { Millis } from '../domain/clock.ts'
import type { ListPage, PageOptions } from './views/page.ts'

/** A user as the owner sees it. */
export interface UserView {
  id: string
  role: UserRole
  /** The owner vouches for this user's words. */
  trusted: boolean
  /** Tools of the user's runs, if the owner chose them; null for those of the role. */
  tools: string[] | null
  folder: string
  perDayUsd: number | null
  createdAt: string
}

/** What can be set of a user. */
export interface UserChange {
  role?: UserRole
  trusted?: boolean
  tools?: string[] | null
  folder?: string
  perDayUsd?: number | null
}

/** A token without its secret. */
export interface TokenView {
  id: number
  /** A token that was made by hand, or a browser that signed in with a link. */
  kind: TokenKind
  /** Null for the owner. */
  user: string | null
  /** What it is limited to; null for all that the user's role allows. */
  scopes: AccessScope[] | null
  createdAt: string
  expiresAt: string | null
  state: 'valid' | 'expired' | 'revoked'
}

/** The one-time code of a link that signs a browser in. It is in the answer and nowhere else. */
export interface SignInLink {
  code: string
  /** Null for the owner. */
  user: string | null
  expiresAt: string
}

/** One line of the audit: who did what to what, and what came of it. */
interface AuditLine {
  at: string
  principal: string
  action: string
  resource: string | null
  /** `ok`, the code of the error that refused it, or `begun` if the process ended before it was over. */
  outcome: string
  /** Length and SHA-256 of free text, never the text. */
  detail: string | null
}

/** Users, their tokens, and the audit. */
export interface AccessApp {
  users(): Promise<UserView[]>
  /** Adds a user, or brings a removed one back. */
  addUser(id: string, user: UserChange & { folder: string }): Promise<UserView>
  setUser(id: string, change: UserChange): Promise<UserView>
  /** Removes a user and revokes the user's tokens; sessions and runs stay. */
  removeUser(id: string): Promise<{ tokens: number }>
  tokens(): Promise<TokenView[]>
  /** Makes a token, for the owner without a user. It is in the answer and nowhere else: only its hash is stored. */
  createToken(
    user: string | null,
    options?: { scopes?: AccessScope[]; expiresAt?: Millis },
  ): Promise<TokenView & { token: string }>
  /** Makes the code of a link with which a browser signs in once, within minutes; without a user, as the owner. */
  createSignInLink(user?: string | null): Promise<SignInLink>
  /** Ends a token at once, or signs a browser out. */
  revokeToken(id: number): Promise<void>
  /** Newest first; without a limit 50. */
  audit(query?: PageOptions): Promise<ListPage<AuditLine>>
}
