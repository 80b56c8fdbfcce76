/** A file that a run wrote. */
export interface Artifact {
  /** Relative to the session's folder. */
  path: string
  /** Hash of the content that the run left. */
  sha256: string
  /** Null if the file was not read. */
  bytes: number | null
  /** Whether the file matched when last checked: at the run's end, or when shown. */
  verified: boolean
}
