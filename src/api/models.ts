/** A model that can be asked by its name. */
export interface ModelLine {
  name: string
  /** As its provider names it. */
  model: string
  provider: string
  /** Context window, in tokens; null for the rehearsal. */
  window: number | null
  isDefault: boolean
  /** Whether `models.allow` lets it be used. */
  isAllowed: boolean
  /** False while its key is missing. */
  isReady: boolean
}

/** Models of this home. */
export interface ModelApp {
  /** Every model by its name, without addresses and keys. */
  models(): Promise<ModelLine[]>
}
