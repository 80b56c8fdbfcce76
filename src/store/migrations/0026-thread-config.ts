import type { Migration } from '../migration.ts'

/**
 * What a thread has of its own besides a persona: a system prompt, and the personas whose permissions bind it since it was
 * forked from theirs. A turn notes the settings that its model was called with and the permissions that held.
 */
export const threadConfig: Migration = {
  id: 26,
  name: 'thread_config',
  up: ({ text }) => [
    `ALTER TABLE sessions ADD COLUMN system_prompt_hash ${text} REFERENCES prompts (hash) DEFERRABLE`,
    `ALTER TABLE sessions ADD COLUMN bound_by_json ${text}`,
    `ALTER TABLE threads ADD COLUMN system_prompt_hash ${text} REFERENCES prompts (hash) DEFERRABLE`,
    `ALTER TABLE threads ADD COLUMN bound_by_json ${text}`,
    `ALTER TABLE turns ADD COLUMN settings_json ${text}`,
  ],
}
