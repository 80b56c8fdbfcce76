/** One finding about the installation; has a remedy unless it is ok. */
export interface HealthCheck {
  name: string
  status: 'ok' | 'warn' | 'fail'
  detail: string
  remedy?: string
}

/** One setting as it is in use, secrets redacted. */
interface SettingView {
  /** Such as `agents.maxConcurrent`. */
  key: string
  /** Null if it has no value. */
  value: unknown
  /** Its line in the file; null for a default. */
  line: number | null
}

/** All settings, as they were when this process started. */
interface SettingsView {
  /** The file that was read; a missing one means the defaults. */
  file: string
  settings: SettingView[]
}

/** The installation and its settings. */
export interface HomeApp {
  /** Checks the installation, with the agents of this folder; changes nothing, and asks no model that costs money. */
  doctor(folder: string): Promise<HealthCheck[]>
  settings(): Promise<SettingsView>
  /** One setting as it is in use, secrets redacted; null if it has no value. */
  setting(key: string): Promise<{ key: string; value: unknown }>
}
