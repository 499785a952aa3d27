// Stands for the kinds of diagrams that we leave out (vite.config.ts). Whoever loads it is told so, and the diagram stays its text.
export const diagram = undefined;
export default undefined;
throw new Error("this kind of diagram is not drawn here");
