import type { Migration } from '../../migration.ts'

/** Whether the cost of a call was computed with an assumed price; 0 for earlier calls, which did not record it. */
export const assumedPrices: Migration = {
  id: 18,
  name: 'assumed_prices',
  up: ({ int }) => [
    `ALTER TABLE usage ADD COLUMN price_assumed ${int} NOT NULL DEFAULT 0 CHECK (price_assumed IN (0, 1))`,
  ],
}
