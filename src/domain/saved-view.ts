/** The app's pages with filters that can be saved as a view. */
export const VIEW_PAGES = ['traces', 'spans', 'review'] as const

export type ViewPage = (typeof VIEW_PAGES)[number]
