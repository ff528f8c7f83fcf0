/** How high charts are, in pixels: known before their code is there, so that nothing moves when it comes. */
export const PANEL_HEIGHT = 150
export const THROUGHPUT_HEIGHT = 220
